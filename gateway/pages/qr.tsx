/**
 * A QR code as inline SVG: one path of strokes, always dark on white, with the quiet zone of four
 * modules that scanners need. Source: ISO/IEC 18004.
 */
import type { VNode } from "preact";
import { encode } from "uqr";

const quiet = 4;

/** The dark runs of each row, each a stroke through the middle of the row. */
function strokes(rows: readonly (readonly boolean[])[]): string {
  let path = "";
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length; x += 1) {
      if (row[x] !== true) continue;
      const from = x;
      while (row[x + 1] === true) x += 1;
      path += `M${from} ${y}.5h${x + 1 - from}`;
    }
  }
  return path;
}

export function Qr({ text, label }: { readonly text: string; readonly label: string }): VNode {
  const { data, size } = encode(text, { ecc: "M", border: quiet });
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path class="qr-paper" d={`M0 0h${size}v${size}H0z`} />
      <path class="qr-ink" d={strokes(data)} />
    </svg>
  );
}
