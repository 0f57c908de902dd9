/**
 * Colours, distances and type of every page that the gateway serves, as custom properties. System
 * fonts, light or dark as the reader's system is.
 */

export const pageStyleVariables = `:root {
  color-scheme: light dark;
  --ground: #f3f5f8; --card: #fff; --ink: #151a21; --soft: #57606e; --line: #dbe0e7;
  --link: #1b57c9; --on-link: #fff; --wait: #1b57c9; --wait-ground: #eaf1ff; --good: #0b6e44; --good-ground: #e5f6ed;
  --care: #7d4a00; --care-ground: #fff3dc; --stop: #a3241c; --stop-ground: #fdebe9;
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --round: .75rem;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) { :root {
  --ground: #0e1116; --card: #171b21; --ink: #edf0f4; --soft: #a7b0bd; --line: #2d343e;
  --link: #8db6ff; --on-link: #0b1830; --wait: #9cc0ff; --wait-ground: #16243d; --good: #6fdaa5; --good-ground: #10291e;
  --care: #f2c271; --care-ground: #2e2412; --stop: #ffa59c; --stop-ground: #341917;
} }
`;
