// What came from what: the subject in the middle, its relatives in columns, each a link. On a narrow screen it scrolls.
const W = 160, H = 44, GAP_X = 42, GAP_Y = 14;

export default {
  props: ["nodes", "edges", "label"],
  template: `
    <div class="tn-lineage" tabindex="0" role="region" :aria-label="label">
      <svg :viewBox="'0 0 ' + size.w + ' ' + size.h" :width="size.w" :height="size.h" role="group" :aria-label="label">
        <g aria-hidden="true"><path v-for="edge in drawn" :key="edge.key" :d="edge.d" class="tn-edge"/>
          <text v-for="edge in drawn" :key="'t' + edge.key" :x="edge.x" :y="edge.y" text-anchor="middle" class="tn-relation">{{ edge.label }}</text></g>
        <component v-for="node in placed" :key="node.key" :is="node.href ? 'a' : 'g'" :href="node.href || null" :class="['tn-node', 'is-' + node.kind, { 'is-self': node.self }]">
          <rect :x="node.x" :y="node.y" width="${W}" height="${H}" rx="7"/>
          <text :x="node.x + 12" :y="node.y + 19" class="tn-node-name">{{ node.name }}</text>
          <text :x="node.x + 12" :y="node.y + 34" class="tn-node-sub">{{ node.sub }}</text>
        </component>
      </svg>
    </div>`,
  computed: {
    columns() {
      const columns = new Map();
      for (const node of this.nodes) columns.set(node.column, [...(columns.get(node.column) || []), node]);
      return [...columns.entries()].sort(([a], [b]) => a - b).map(([, nodes]) => nodes);
    },
    size() {
      const rows = Math.max(1, ...this.columns.map((nodes) => nodes.length));
      return { w: this.columns.length * (W + GAP_X) - GAP_X + 4, h: rows * (H + GAP_Y) - GAP_Y + 16 };
    },
    placed() {
      return this.columns.flatMap((nodes, column) => {
        const top = (this.size.h - (nodes.length * (H + GAP_Y) - GAP_Y)) / 2;
        return nodes.map((node, row) => ({ ...node, x: 2 + column * (W + GAP_X), y: top + row * (H + GAP_Y) }));
      });
    },
    drawn() {
      const at = new Map(this.placed.map((node) => [node.key, node]));
      return this.edges.filter((edge) => at.has(edge.from) && at.has(edge.to)).map((edge) => {
        const a = at.get(edge.from), b = at.get(edge.to);
        const x1 = a.x + W, y1 = a.y + H / 2, x2 = b.x, y2 = b.y + H / 2, half = (x2 - x1) / 2;
        return { key: edge.from + edge.to + edge.label, d: `M${x1} ${y1}C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`, x: x1 + half, y: (y1 + y2) / 2 - 5, label: edge.label };
      });
    },
  },
};
