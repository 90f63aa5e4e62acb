// The global of vendor/uplot.js. Its own 1,200 lines of types are not worth keeping here: chart.js alone uses it.
declare const uPlot: any;
