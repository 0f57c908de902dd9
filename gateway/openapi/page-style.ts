/**
 * The style sheet of /docs: system fonts, light or dark as the reader's system is, nothing fetched.
 */

export const pageStyle = `:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --link: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav .group { margin-top: 1rem; font-weight: 600; }
main { padding: 1rem 2rem 4rem; max-width: 62rem; }
section { border-top: 1px solid var(--line); padding: 0.5rem 0 1rem; }
h1 small { font-weight: 400; opacity: 0.7; font-size: 1rem; }
h3 { margin: 0.5rem 0; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 0.25rem; }
a { color: var(--link); }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; }
td code, p code, h3 code { overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 4px; padding: 0.75rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.93rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
em { opacity: 0.75; }
.method { font: 600 0.8rem ui-monospace, monospace; border: 1px solid; border-radius: 4px; padding: 0.1rem 0.4rem; }
.get { color: #18794e; }
.post { color: #b45309; }
@media (prefers-color-scheme: dark) { .get { color: #5bd19b; } .post { color: #f5b04d; } }
@media (max-width: 50rem) { body { display: block; } nav { position: static; max-height: none; } main { padding: 1rem; } }
`;
