/**
 * The style sheet of the payment page: tokens first, then its parts. Nothing is fetched; made for
 * 360 px and widened from there.
 */

import { pageStyleVariables } from "./tokens.ts";

export const pageStyle = `${pageStyleVariables}* { box-sizing: border-box; }
body { margin: 0 auto; padding: var(--s4); max-width: 34rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 var(--sans); overflow-wrap: anywhere; }
h1, h2, h3, p, dl, dd, fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
a { color: var(--link); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: .25rem; }
[hidden] { display: none !important; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.top { display: grid; grid-template-columns: 1fr auto; gap: 0 var(--s4); align-items: baseline; padding: var(--s1) 0 var(--s4); }
.top h1 { font-size: 1.125rem; line-height: 1.35; }
.top a { padding: var(--s2) 0; }
.test { grid-column: 1 / -1; color: var(--care); font-weight: 600; }

.status { display: grid; grid-template-columns: auto 1fr; gap: var(--s2) var(--s3); padding: var(--s5) var(--s4);
  border-radius: var(--round); color: var(--tone); background: var(--tone-ground); }
.status > * { grid-column: 2; }
.status .sign { grid-column: 1; grid-row: 1; width: 1.75rem; height: 1.75rem; }
.status h1, .status h2 { font-size: 1.25rem; line-height: 1.4; }
.status p { color: var(--ink); }
.status .now { font-weight: 600; }
.status .left { color: var(--tone); font-variant-numeric: tabular-nums; }
.brief { padding: var(--s4); }
.brief h2 { font-size: 1.0625rem; line-height: 1.65; }
.brief.wait .now { font-weight: 400; }
.wait { --tone: var(--wait); --tone-ground: var(--wait-ground); }
.good { --tone: var(--good); --tone-ground: var(--good-ground); }
.care { --tone: var(--care); --tone-ground: var(--care-ground); }
.stop { --tone: var(--stop); --tone-ground: var(--stop-ground); }
.sign { fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }

.pay, .outcome { margin-top: var(--s4); padding: var(--s5) var(--s4); background: var(--card); border: 1px solid var(--line);
  border-radius: var(--round); display: grid; gap: var(--s5); }
h3 { font-size: .875rem; font-weight: 600; color: var(--soft); }
.network-name { font-size: 1.75rem; line-height: 1.25; font-weight: 700; display: flex; flex-wrap: wrap; align-items: center;
  gap: var(--s1) var(--s3); }
.tokens { font-size: .9375rem; font-weight: 600; line-height: 1; padding: .35rem .55rem; border: 1px solid var(--line);
  border-radius: .4rem; color: var(--ink); }
.only { margin-top: var(--s1); font-size: .9375rem; color: var(--soft); }
.sum { font-size: 1.5rem; line-height: 1.3; font-weight: 700; font-variant-numeric: tabular-nums; }
.fiat { color: var(--soft); }
.groups { display: block; margin-top: var(--s1); font: 500 1.0625rem/1.7 var(--mono); user-select: all; }
.groups > * { margin-right: .55ch; }
.order { display: inline-block; }
.copy, .wallet, .back { display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; width: 100%;
  margin-top: var(--s3); padding: var(--s2) var(--s4); border: 1px solid var(--line); border-radius: .5rem; font: inherit;
  font-weight: 600; background: transparent; color: var(--link); text-align: center; text-decoration: none; cursor: pointer; }
.copy:hover, .wallet:hover { border-color: var(--link); }
.back { margin: 0; background: var(--link); border-color: var(--link); color: var(--on-link); }

.pay form { margin: 0; }
.pay .back { width: 100%; }
.pay > .wallet { margin-top: 0; }
.choices { list-style: none; margin: var(--s4) 0 0; padding: 0; display: grid; gap: var(--s3); }
.choices form { margin: 0; }
.choice { display: flex; align-items: center; justify-content: space-between; gap: var(--s2) var(--s4); width: 100%; min-height: 3.5rem;
  padding: var(--s3) var(--s4); border: 1px solid var(--line); border-radius: var(--round); font: inherit; text-align: left;
  text-decoration: none; background: var(--card); color: var(--ink); }
a.choice, button.choice { cursor: pointer; }
a.choice:hover, button.choice:hover { border-color: var(--link); }
.choice .coin { display: grid; }
.choice .coin b { font-size: 1.125rem; line-height: 1.4; }
.choice .worth { display: grid; justify-items: end; text-align: right; font-weight: 600; font-variant-numeric: tabular-nums; }
.choice .soft { color: var(--soft); font-size: .9375rem; font-weight: 400; }
.out { border-style: dashed; background: transparent; color: var(--soft); }
.faces { display: grid; grid-template-columns: 1fr 1fr; gap: var(--s3) 0; justify-items: center; text-align: center; }
.faces > .qr, .faces > .beside { grid-column: 1 / -1; }
.early { text-align: center; }
.early .wallet { margin-top: 0; background: var(--link); border-color: var(--link); color: var(--on-link); }
.early .hint { margin-top: var(--s2); }
.beside { display: none; }
.faces input { position: absolute; opacity: 0; width: 1px; height: 1px; }
.faces label { width: 100%; display: grid; align-items: center; padding: .6rem var(--s3); border: 1px solid var(--line); color: var(--soft); cursor: pointer; font-weight: 600; }
.faces label:nth-of-type(1) { border-radius: .5rem 0 0 .5rem; }
.faces label:nth-of-type(2) { border-radius: 0 .5rem .5rem 0; border-left: 0; }
.faces input:checked + label { background: var(--wait-ground); color: var(--wait); }
.faces input:focus-visible + label { outline: 3px solid var(--link); outline-offset: 2px; }
.face { grid-column: 1 / -1; display: none; width: 100%; }
#face-address:checked ~ .face-address, #face-link:checked ~ .face-link { display: grid; justify-items: center; gap: var(--s3); }
.qr { width: min(100%, 17rem); border-radius: .5rem; border: 1px solid var(--line); shape-rendering: crispEdges; }
.qr-paper { fill: #fff; }
.qr-ink { stroke: #000; stroke-width: 1; }
.hint { font-size: .9375rem; color: var(--soft); }

.outcome dl { display: grid; gap: var(--s1); margin-top: calc(-1 * var(--s3)); }
dt { color: var(--soft); font-size: .875rem; margin-top: var(--s3); }
dt:first-child { margin-top: 0; }
dd { display: grid; gap: var(--s2); justify-items: start; }
.hash { font: .9375rem/1.5 var(--mono); }
.foot { padding: var(--s5) var(--s1) 0; color: var(--soft); font-size: .9375rem; display: grid; gap: var(--s3); }
.lost { position: fixed; inset: auto var(--s4) var(--s4); padding: var(--s3) var(--s4); border-radius: .5rem; background: var(--ink);
  color: var(--ground); }

@media (forced-colors: active) {
  .faces input:checked + label { outline: 3px solid Highlight; outline-offset: -3px; text-decoration: underline; }
  .status, .qr { border: 1px solid; }
}
@media (min-width: 48rem) {
  body { padding: var(--s6) var(--s5); max-width: 60rem; }
  .top h1 { font-size: 1.375rem; }
  .pay, .outcome, .status { padding: var(--s6); }
  .brief { padding: var(--s5) var(--s6); grid-template-columns: auto 1fr auto; align-items: baseline; }
  .brief .sign { align-self: center; }
  .brief .left { grid-column: 3; grid-row: 1; }
  .pay { grid-template-columns: minmax(0, 1fr) 19rem; column-gap: 3rem; grid-template-rows: auto auto 1fr; }
  .pay > * { grid-column: 1; }
  .pay .faces { grid-column: 2; grid-row: 1 / span 3; align-content: start; }
  .network-name { font-size: 2.25rem; }
  .sum { font-size: 1.875rem; }
  .early { display: none; }
  .beside { display: grid; gap: var(--s3); width: 100%; }
  .copy, .back { width: auto; min-width: 12rem; justify-self: start; }
  .outcome dl { grid-template-columns: 12rem minmax(0, 1fr); gap: var(--s3) var(--s4); }
  dt { margin: 0; font-size: 1rem; }
}
`;
