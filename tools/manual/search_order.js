// How the manual's search orders what it finds: pages for users first. Sphinx takes this in place of its own weights.
var Scorer = {
  score: (result) => {
    const late = /^(decisions|how-to|benchmarks|changes|contributing|architecture|glossary)(\/|$)/;
    return late.test(result[0]) ? result[4] - 100 : result[4];
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
