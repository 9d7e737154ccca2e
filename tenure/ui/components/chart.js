// Lines over time (ECharts), in the colours of the theme, with the same numbers for those who cannot see them.
import { Cell } from "tenure-ui";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export default {
  components: { Cell },
  props: ["title", "unit", "series", "stack"],
  template: `
    <figure class="tn-chart">
      <figcaption>{{ title }} <span class="tn-legend"><span v-for="one in series" :key="one.name"><i :style="{ background: 'var(' + one.colour + ')' }" aria-hidden="true"></i>{{ one.name }} <b class="tn-num">{{ last(one) }}</b></span></span></figcaption>
      <div v-show="filled" ref="plot" class="tn-plot" role="img" :aria-label="told"></div>
      <p v-if="!filled" class="tn-plot tn-none">Nothing recorded yet.</p>
    </figure>`,
  computed: {
    filled() {
      return this.series.some((one) => one.points.length > 1);
    },
    told() {
      return this.title + ": " + this.series.map((one) => `${one.name} now ${this.last(one)}`).join(", ");
    },
  },
  watch: {
    series: { deep: true, handler() {
      this.draw();
    } },
  },
  async mounted() {
    const { echarts } = await import("nicegui-echart");
    if (!this.$refs.plot) return;
    this.library = echarts;
    this.sizes = new ResizeObserver(() => this.plot?.resize());
    this.sizes.observe(this.$refs.plot);
    window.addEventListener("tenure-theme", this.draw);
    this.draw();
  },
  unmounted() {
    window.removeEventListener("tenure-theme", this.draw);
    this.sizes?.disconnect();
    this.plot?.dispose();
  },
  methods: {
    last(one) {
      const point = one.points.at(-1);
      return point ? point[1].toLocaleString("en", { maximumFractionDigits: 1 }) : "–";
    },
    draw() {
      if (!this.library || !this.filled) return;
      this.$nextTick(() => {
        this.plot ??= this.library.init(this.$refs.plot, null, { renderer: "svg" });
        this.plot.resize();
        this.plot.setOption(this.options(), { notMerge: true });
      });
    },
    options() {
      const ink = css("--tn-ink-2"), line = css("--tn-line"), face = { fontFamily: css("--tn-sans"), color: ink };
      return {
        animation: false, textStyle: face, grid: { left: 8, right: 12, top: 10, bottom: 4, containLabel: true },
        xAxis: { type: "time", axisLine: { lineStyle: { color: line } }, axisTick: { show: false }, axisLabel: { color: ink, hideOverlap: true, fontSize: 11 }, splitLine: { show: false } },
        yAxis: { type: "value", min: 0, minInterval: this.unit === "count" ? 1 : 0, splitNumber: 3, axisLabel: { color: ink, fontSize: 11 }, splitLine: { lineStyle: { color: line } } },
        tooltip: { trigger: "axis", backgroundColor: css("--tn-raised"), borderColor: line, textStyle: { ...face, color: css("--tn-ink"), fontSize: 12 }, confine: true },
        series: this.series.map((one) => ({
          name: one.name, type: "line", showSymbol: false, step: this.unit === "count" ? "end" : false, data: one.points,
          lineStyle: { width: 1.75 }, color: css(one.colour), areaStyle: { opacity: 0.12 },
        })),
      };
    },
  },
};
