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

interface QrDrawing {
  readonly size: number; // modules of a side, with the quiet zone
  readonly ink: string;
}

/** A page that waits asks for the same code every few seconds, and to draw it costs most. */
const drawingsMax = 2_000;
const drawings = new Map<string, QrDrawing>();

function drawingOf(text: string): QrDrawing {
  const known = drawings.get(text);
  if (known !== undefined) return known;
  const { data, size } = encode(text, { ecc: "M", border: quiet });
  const drawing = { size, ink: strokes(data) };
  if (drawings.size >= drawingsMax) drawings.delete(drawings.keys().next().value as string);
  drawings.set(text, drawing);
  return drawing;
}

export function QrCode({ text, label }: { readonly text: string; readonly label: string }): VNode {
  const { size, ink } = drawingOf(text);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path class="qr-paper" d={`M0 0h${size}v${size}H0z`} />
      <path class="qr-ink" d={ink} />
    </svg>
  );
}
