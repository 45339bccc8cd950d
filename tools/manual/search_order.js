// How the manual's search orders what it finds: pages for users first. Sphinx takes this in place of its own weights.
// Each name of the API begins with "livejoin", and so do headings of commands: that is no hit for "join" or "live".
var Scorer = {
  score: (result) => {
    const late = /^(decisions|extend|benchmarks|changes|contributing|architecture|glossary)(\/|$)/;
    const words = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/\s+/);
    const title = result[1].toLowerCase();
    const rest = title.replaceAll("livejoin", "");
    const isByName = words.some((word) => word && title.includes(word) && !rest.includes(word));
    return result[4] - (late.test(result[0]) ? 100 : 0) - (isByName && !words.includes("livejoin") ? 200 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
