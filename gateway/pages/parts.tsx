/** Small parts of the payment page, each used in more than one place of it. */
import type { VNode } from "preact";
import type { Words } from "./words.ts";

/** A zero and a letter that no hexadecimal digit is: the mark before the digits of an address. */
const prefixForm = /^0[g-z]/;

/** Prefix and groups of four, which a person can compare. Nothing stands between them in a copy. */
export function groupsOf(address: string): readonly string[] {
  const [prefix = ""] = prefixForm.exec(address) ?? [];
  return [
    ...(prefix === "" ? [] : [prefix]),
    ...(address.slice(prefix.length).match(/.{1,4}/g) ?? []),
  ];
}

/** The first and the last four characters at least, by which people compare addresses. */
function isMarked(groups: readonly string[], at: number): boolean {
  const isShort = (groups.at(-1)?.length ?? 0) < 4;
  return (
    at === (prefixForm.test(groups[0] ?? "") ? 1 : 0) || at >= groups.length - (isShort ? 2 : 1)
  );
}

export function AddressGroups({
  address,
  id,
}: {
  readonly address: string;
  readonly id: string;
}): VNode {
  const groups = groupsOf(address);
  return (
    <code class="groups" id={id}>
      {groups.map((group, at) => (
        <>
          {at === 0 ? null : <wbr />}
          {isMarked(groups, at) ? <b>{group}</b> : <span>{group}</span>}
        </>
      ))}
    </code>
  );
}

/** Hidden until the script runs, because it does nothing without. */
export function CopyButton({
  of,
  label,
  words,
}: {
  readonly of: string;
  readonly label: string;
  readonly words: Words;
}): VNode {
  return (
    <button type="button" class="copy" data-copy={of} data-copied={words.copied} hidden>
      {label}
    </button>
  );
}

const shapes = {
  wait: "M12 7v5l3.5 2",
  good: "M7.5 12.5l3 3 6-6.5",
  care: "M12 7v6M12 16.5v.1",
  stop: "M8.5 8.5l7 7M15.5 8.5l-7 7",
} as const;
export type NoticeTone = keyof typeof shapes;

/** A sign beside a title, which says the same. */
export function NoticeSign({ tone }: { readonly tone: NoticeTone }): VNode {
  return (
    <svg class="sign" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="10" />
      <path d={shapes[tone]} />
    </svg>
  );
}

const isMail = (contact: string): boolean => !contact.includes("://");

/** A page is shown without its scheme. */
export function ContactLine({
  contact,
  orderId,
}: {
  readonly contact: string;
  readonly orderId: string;
}): VNode {
  if (!isMail(contact)) {
    return (
      <a href={contact} target="_top" rel="noopener">
        {contact.replace(/^https?:\/\//, "").replace(/\/$/, "")}
      </a>
    );
  }
  return (
    <a
      href={`mailto:${encodeURIComponent(contact).replace("%40", "@")}?subject=${encodeURIComponent(orderId)}`}
    >
      {contact}
    </a>
  );
}
