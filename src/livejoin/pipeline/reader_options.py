"""The options of Spark's readers of files: Spark reads past an option that it does not know, livejoin refuses it.

It also refuses values that Spark would take for something else, or refuse when the query runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from zoneinfo import available_timezones

from livejoin.query.texts.time_format import TOKENS
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


def unknown_options(format_name: str, given: Iterable[str]) -> list[str]:
    """What is wrong with the names of options. Names with a dot are settings of Hadoop's readers.

    >>> unknown_options("csv", ["maxFilePerTrigger"])
    ["Spark's reader of csv has no option 'maxFilePerTrigger' (did you mean 'maxFilesPerTrigger'?), and reads past it"]
    >>> unknown_options("csv", ["HEADER", "parquet.crypto.factory.class"])
    []
    """
    known = READER_OPTIONS[format_name]
    lowered = {name.lower() for name in known}
    return [
        f"Spark's reader of {format_name} has no option {name!r}{meant(name, known)}, and reads past it"
        for name in given
        if "." not in name and name.lower() not in lowered
    ]


_MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_CHARSETS = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32")
_BOOLEANS = """allowbackslashescapinganycharacter allowcomments allownonnumericnumbers allownumericleadingzeros
    allowsinglequotes allowunquotedcontrolchars allowunquotedfieldnames columnpruning enabledatetimeparsingfallback
    enforceschema header ignorecorruptfiles ignoreleadingwhitespace ignoremissingfiles ignoretrailingwhitespace
    latestfirst mergeschema multiline preferdate prefersdecimal primitivesasstring recursivefilelookup""".split()  # noqa: SIM905
_COUNTS = ("maxfilespertrigger", "maxcachedfiles", "maxcolumns")
_FORMATS = ("dateformat", "timestampformat", "timestampntzformat", "timeformat")
_LETTERS = frozenset("GyMLdDQqEFahkKHmsSVzOXxZ")
_CALENDARS = {"Y": "y", "w": "", "W": "", "u": "y", "e": "E", "c": "E"}
_LOCALE = re.compile(r"[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-[a-z0-9]{1,8})*", re.IGNORECASE)
_OFFSET = re.compile(r"(UTC|GMT|UT)?[+-][0-9]{1,2}(:?[0-9]{2}){0,2}|Z")
_SHORT_ZONES = """ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT EST HST IET IST JST MIT MST NET NST PLT PNT PRT
    PST SST VST""".split()  # noqa: SIM905  # Java's, which Spark takes
_BYTES = re.compile(r"[1-9][0-9]*([kmgtp]?b?)", re.IGNORECASE)


def wrong_values(given: Mapping[str, str]) -> list[str]:
    """What is wrong with the values of options.

    >>> wrong_values({"mode": "PERMISIVE"})
    ["mode = 'PERMISIVE'; allowed are 'PERMISSIVE', 'DROPMALFORMED', 'FAILFAST' (did you mean 'PERMISSIVE'?)"]
    >>> wrong_values({"maxFilesPerTrigger": "0"})
    ["maxFilesPerTrigger = '0'; allowed is a whole number, 1 or more"]
    >>> wrong_values({"locale": "de_DE", "header": "true"})
    ["locale = 'de_DE'; allowed is a language, as 'en', or one with its country, as 'de-DE' (did you mean 'de-DE'?)"]
    """
    found = {name: _allowed(name.lower(), value) for name, value in given.items()}
    return [f"{name} = {given[name]!r}; {allowed}" for name, allowed in found.items() if allowed]


def wrong_zone(zone: str) -> str:
    """What is allowed for a time zone, if Spark does not know it; empty if it does.

    >>> wrong_zone("America/St_Johnz")
    "allowed is a time zone, as 'Europe/Paris' or '+02:00' (did you mean 'America/St_Johns'?)"
    >>> wrong_zone("GMT+1"), wrong_zone("PST"), wrong_zone("UTC")
    ('', '', '')
    """
    if _OFFSET.fullmatch(zone) or zone in _SHORT_ZONES or zone in (zones := available_timezones()):
        return ""
    return f"allowed is a time zone, as 'Europe/Paris' or '+02:00'{meant(zone, zones)}"


def _allowed(name: str, value: str) -> str:
    """What is allowed for an option, if a value is not; empty if it is."""
    if name == "mode" and value.upper() not in _MODES:
        return _one_of(value, _MODES)
    if name in ("encoding", "charset") and value.upper() not in _CHARSETS:
        return _one_of(value, _CHARSETS)
    if name == "locale" and not _LOCALE.fullmatch(value):
        hint = f" (did you mean {better!r}?)" if _LOCALE.fullmatch(better := value.replace("_", "-")) else ""
        return f"allowed is a language, as 'en', or one with its country, as 'de-DE'{hint}"
    if name == "timezone":
        return wrong_zone(value)
    if name in _BOOLEANS and value.lower() not in ("true", "false"):
        return "allowed are true and false"
    if name in _COUNTS and not (value.isdecimal() and int(value)):
        return "allowed is a whole number, 1 or more"
    if name == "maxbytespertrigger" and not _BYTES.fullmatch(value):
        return "allowed is a size, as '64m' or a number of bytes"
    return _no_format(value) if name in _FORMATS else ""


def _one_of(value: str, allowed: Iterable[str]) -> str:
    return f"allowed are {', '.join(map(repr, allowed))}{meant(value, allowed)}"


def _no_format(pattern: str) -> str:
    """What is allowed in a format of times, if a pattern has something else."""
    for found in TOKENS.finditer(pattern):
        token = found[0]
        if token == "'":
            return "a quote begins a text that is read as it is, and none ends it; write '' for a quote itself"
        letter = token[:1]
        if letter in _CALENDARS:
            better = f"write {_CALENDARS[letter] * len(token)!r}" if _CALENDARS[letter] else "leave it out"
            return f"{token!r} goes by weeks or by another calendar, and Spark refuses it; {better}"
        if letter.isascii() and letter.isalpha() and letter not in _LETTERS:
            return f"{token!r} is no part of a time; allowed are as in 'yyyy-MM-dd HH:mm:ss', texts between quotes"
        if token in "{}#":
            return f"{token!r} is reserved; put texts between quotes"
    if not any(found[1] for found in TOKENS.finditer(pattern)):
        return "it has no part of a time; write as in 'yyyy-MM-dd HH:mm:ss'"
    return ""
