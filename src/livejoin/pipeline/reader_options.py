"""The options of Spark's readers of files: Spark reads past an option that it does not know, livejoin refuses it."""

from __future__ import annotations

from collections.abc import Iterable

from livejoin.shown import meant

_OF_FILES = (
    "basePath cleanSource discardCachedInputRatio fileNameOnly ignoreCorruptFiles ignoreMissingFiles latestFirst "
    "maxBytesPerTrigger maxCachedFiles maxFileAge maxFilesPerTrigger modifiedAfter modifiedBefore pathGlobFilter "
    "recursiveFileLookup sourceArchiveDir"
)
_OF_TEXTS = (
    "charset columnNameOfCorruptRecord compression dateFormat enableDateTimeParsingFallback encoding lineSep locale "
    "mode multiLine samplingRatio singleVariantColumn timeFormat timeZone timestampFormat timestampNTZFormat"
)
_NAMES = {
    "csv": f"""{_OF_FILES} {_OF_TEXTS} charToEscapeQuoteEscaping codec columnPruning comment delimiter emptyValue
        enforceSchema escape escapeQuotes extension header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace inferSchema
        inputBufferSize maxCharsPerColumn maxColumns nanValue negativeInf nullValue positiveInf preferDate quote
        quoteAll sep unescapedQuoteHandling""",
    "json": f"""{_OF_FILES} {_OF_TEXTS} allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers
        allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars allowUnquotedFieldNames dropFieldIfAllNull
        explodeEmbeddedArray ignoreNullFields inferTimestamp prefersDecimal pretty primitivesAsString sortKeys
        useUnsafeRow writeNonAsciiCharacterAsCodePoint""",
    "parquet": f"{_OF_FILES} compression datetimeRebaseMode int96RebaseMode mergeSchema parquet.compression",
    "orc": f"{_OF_FILES} compression mergeSchema orc.compress",
}
READER_OPTIONS = {name: tuple(dict.fromkeys(names.split())) for name, names in _NAMES.items()}
"""The names for each format: those of Spark 4.0 to 4.2, those for writing among them."""


def unknown_option(format_name: str, given: Iterable[str]) -> str:
    """What is wrong with the names of options; empty if nothing is. Names with a dot are settings of Hadoop's readers.

    >>> unknown_option("csv", ["maxFilePerTrigger"])
    "Spark's reader of csv has no option 'maxFilePerTrigger' (did you mean 'maxFilesPerTrigger'?), and reads past it"
    >>> unknown_option("csv", ["HEADER", "parquet.crypto.factory.class"])
    ''
    """
    known = READER_OPTIONS[format_name]
    lowered = {name.lower() for name in known}
    for name in given:
        if "." not in name and name.lower() not in lowered:
            return f"Spark's reader of {format_name} has no option {name!r}{meant(name, known)}, and reads past it"
    return ""
