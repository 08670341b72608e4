import type { ReceivedSpan } from './trace-receiver.ts';

const [WIDTH, LABEL, ROW, MARGIN] = [1000, 330, 22, 12];
const COLOURS: Readonly<Record<string, string>> = {
  api: '#2f6fb3',
  'projector,worker': '#b3622f',
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

interface Row {
  readonly span: ReceivedSpan;
  readonly depth: number;
}

const rowsBelow = (spans: readonly ReceivedSpan[], parent: ReceivedSpan, depth: number): readonly Row[] => [
  { span: parent, depth },
  ...spans
    .filter(({ parentSpanId }) => parentSpanId === parent.spanId)
    .toSorted((a, b) => Number(a.startTimeUnixNano - b.startTimeUnixNano))
    .flatMap((child) => rowsBelow(spans, child, depth + 1)),
];

/** One trace as bars over time, indented below their parents. Colours are processes. */
export const tracePicture = (spans: readonly ReceivedSpan[], root: ReceivedSpan): string => {
  const rows = rowsBelow(spans, root, 0);
  const startNs = root.startTimeUnixNano;
  const ms = (ns: bigint): number => Number(ns - startNs) / 1e6;
  const totalMs = Math.max(...rows.map(({ span }) => ms(span.endTimeUnixNano)));
  const x = (of: number): number => LABEL + (of / totalMs) * (WIDTH - LABEL - 80);
  const bars = rows.map(({ span, depth }, index) => {
    const [from, to] = [ms(span.startTimeUnixNano), ms(span.endTimeUnixNano)];
    const y = MARGIN + index * ROW;
    const colour = COLOURS[String(span.resource['exchange.roles'])] ?? '#666';
    const width = Math.max(2, x(to) - x(from));
    return [
      `<text x="${MARGIN + depth * 12}" y="${y + 14}">${escaped(span.name)}</text>`,
      `<rect x="${x(from).toFixed(1)}" y="${y + 3}" width="${width.toFixed(1)}" height="14" rx="2" fill="${colour}"/>`,
      `<text x="${(x(from) + width + 4).toFixed(1)}" y="${y + 14}" class="t">${(to - from).toFixed(1)} ms</text>`,
    ].join('');
  });
  const height = 2 * MARGIN + (rows.length + 1) * ROW;
  const legend = Object.entries(COLOURS).map(
    ([roles, colour], index) =>
      `<rect x="${MARGIN + index * 200}" y="${height - 26}" width="12" height="12" fill="${colour}"/><text x="${MARGIN + 18 + index * 200}" y="${height - 16}">ROLES=${roles}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<title>Trace of one syndicated change</title>
<style>text{fill:#222}.t{fill:#666;font-size:10px}</style>
<rect width="100%" height="100%" fill="#fff"/>
${[...bars, ...legend].join('\n')}
</svg>
`;
};
