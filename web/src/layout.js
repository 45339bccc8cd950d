/**
 * Places of the boxes of a graph whose edges run one way, by layers: each box stands behind all that it reads, boxes of
 * a layer are ordered so that few edges cross, and an edge over several layers goes between the boxes there
 * (Sugiyama, Tagawa and Toda, 1981, with barycentres).
 *
 * @module layout
 */

/**
 * @typedef {object} Placed
 * @property {string} id
 * @property {number} layer
 * @property {number} across The middle of the box across the layers' direction.
 * @property {number} order
 *
 * @typedef {{ from: string, to: string }} Edge
 * @typedef {{ id: string, layer: number, size: number, across: number, below: Inner[], above: Inner[] }} Inner
 */

const SWEEPS = 12;

/**
 * @param {string[]} ids In an order in which each stands behind what it reads.
 * @param {Edge[]} edges
 * @param {{ size: number, gap: number, thin: number, most?: number }} options How much room a box, a gap and an edge take
 *   across, and how many boxes a layer has at most; then the edges of a box go through a layer as one, and no layer stands
 *   further out than the widest one.
 * @returns {{ places: Map<string, Placed>, layers: number, breadth: number, ways: Map<Edge, number[]> }} `ways` has of
 *   each edge the middles across of the layers that it goes through, those of its ends left out.
 */
export function layout(ids, edges, { size, gap, thin, most = Infinity }) {
  /** @type {Map<string, Inner>} */
  const nodes = new Map(ids.map((id) => [id, { id, layer: 0, size, across: 0, below: [], above: [] }]));
  const inner = (/** @type {string} */ id) => /** @type {Inner} */ (nodes.get(id));
  /** @type {number[]} */ const counts = [];
  for (const id of ids) {
    for (const edge of edges) if (edge.to === id) inner(id).layer = Math.max(inner(id).layer, inner(edge.from).layer + 1);
    while ((counts[inner(id).layer] ?? 0) >= most) inner(id).layer++;
    counts[inner(id).layer] = (counts[inner(id).layer] ?? 0) + 1;
  }
  /** @type {Inner[][]} */
  const layers = [];
  for (const node of nodes.values()) (layers[node.layer] ??= []).push(node);
  /** @type {Map<Edge, Inner[]>} */
  const bends = new Map();
  /** @type {Map<string, Inner>} */
  const lanes = new Map();
  for (const edge of edges) {
    let last = inner(edge.from);
    const to = inner(edge.to), passed = [];
    for (let layer = last.layer + 1; layer < to.layer; layer++) {
      const name = `${layer} ${edge.from}`, shared = most < Infinity ? lanes.get(name) : undefined;
      /** @type {Inner} */ const bend = shared ?? { id: "", layer, size: thin, across: 0, below: [last], above: [] };
      if (!shared) {
        lanes.set(name, bend);
        last.above.push(bend);
        layers[layer].push(bend);
      }
      passed.push((last = bend));
    }
    last.above.push(to);
    to.below.push(last);
    bends.set(edge, passed);
  }
  const set = (/** @type {Inner[]} */ layer) => {
    let at = 0;
    for (const one of layer) { one.across = at + one.size / 2; at += one.size + gap; }
  };
  const mean = (/** @type {Inner[]} */ some, /** @type {number} */ otherwise) =>
    some.length ? some.reduce((sum, one) => sum + one.across, 0) / some.length : otherwise;
  layers.forEach(set);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((one) => [one, mean(down ? one.below : one.above, one.across)]));
      layer.sort((a, b) => /** @type {number} */ (wanted.get(a)) - /** @type {number} */ (wanted.get(b)));
      set(layer);
    }
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) settle(layer, gap, mean);
  }
  if (most < Infinity) within(layers, gap);
  const all = layers.flat();
  const least = all.length ? Math.min(...all.map((one) => one.across - one.size / 2)) : 0;
  for (const one of all) one.across -= least;
  const breadth = Math.max(0, ...all.map((one) => one.across + one.size / 2));
  const places = new Map(ids.map((id) => {
    const { layer, across } = inner(id);
    return [id, { id, layer, across, order: layers[layer].indexOf(inner(id)) }];
  }));
  return { places, layers: layers.length, breadth, ways: new Map([...bends].map(([edge, list]) => [edge, list.map((one) => one.across)])) };
}

/**
 * Bring the boxes of a layer as near to the middles of their neighbours as their order and the gaps let them: groups
 * that would overlap become one, and stand at the mean of what they want.
 *
 * @type {(layer: Inner[], gap: number, mean: (some: Inner[], otherwise: number) => number) => void}
 */
function settle(layer, gap, mean) {
  /** @type {{ first: number, sum: number, members: Inner[], offsets: number[], length: number }[]} */
  const groups = [];
  for (const one of layer) {
    const wanted = mean([...one.below, ...one.above], one.across) - one.size / 2;
    let group = { first: wanted, sum: wanted, members: [one], offsets: [0], length: one.size };
    for (let last = groups.at(-1); last && last.first + last.length + gap > group.first; last = groups.at(-1)) {
      groups.pop();
      const shift = last.length + gap;
      const offsets = [...last.offsets, ...group.offsets.map((offset) => offset + shift)];
      const members = [...last.members, ...group.members];
      const sum = last.sum + group.sum - shift * group.members.length;
      group = { first: sum / members.length, sum, members, offsets, length: shift + group.length };
    }
    groups.push(group);
  }
  for (const { first, members, offsets } of groups) {
    members.forEach((one, place) => { one.across = first + offsets[place] + one.size / 2; });
  }
}

/** Move what stands further out than the widest layer inwards, in its order. @type {(layers: Inner[][], gap: number) => void} */
function within(layers, gap) {
  const length = (/** @type {Inner[]} */ layer) => layer.reduce((sum, one) => sum + one.size + gap, -gap);
  const widest = layers.reduce((one, other) => (length(other) > length(one) ? other : one), layers[0] ?? []);
  if (!widest.length) return;
  const middle = (widest[0].across - widest[0].size / 2 + widest[widest.length - 1].across + widest[widest.length - 1].size / 2) / 2;
  const from = middle - length(widest) / 2, to = middle + length(widest) / 2;
  for (const layer of layers) {
    let least = from, most = to;
    for (const one of layer) {
      one.across = Math.max(one.across, least + one.size / 2);
      least = one.across + one.size / 2 + gap;
    }
    for (const one of [...layer].reverse()) {
      one.across = Math.min(one.across, most - one.size / 2);
      most = one.across - one.size / 2 - gap;
    }
  }
}
