/**
 * The page at /docs: the OpenAPI document for people, as one HTML text without any script. All text
 * from the document is escaped; the page loads only its style sheet.
 */

/** The parts of the document that the page reads. */
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
    readonly securitySchemes: { readonly signatureToken: { readonly description: string } };
  };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example: object }>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly (string | number)[];
  readonly examples?: readonly (string | object)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const plain = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");
/** Text in which `words` are code. */
const prose = (text: string): string => plain(text).replace(/`([^`]+)`/g, "<code>$1</code>");
const code = (text: string): string => `<code>${plain(text)}</code>`;

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `<a href="#${plain(nameOf(schema.$ref))}">${plain(nameOf(schema.$ref))}</a>`;
  // A narrowed body adds nothing to its own heading.
  if (schema.allOf?.[0] !== undefined) return typeOf(schema.allOf[0]);
  const forms = schema.oneOf ?? schema.anyOf;
  if (forms !== undefined) return forms.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${schema.items === undefined ? "anything" : typeOf(schema.items)}`;
  const values = schema.enum === undefined ? "" : `: ${schema.enum.map((value) => code(`${value}`)).join(", ")}`;
  return `${plain(schema.type ?? "")}${values}`;
}

function meaningOf({ description = "", examples = [] }: Schema): string {
  const [example] = examples;
  return `${prose(description)}${example === undefined ? "" : ` For example ${code(typeof example === "string" ? example : JSON.stringify(example))}.`}`;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const head = heads.map((text) => `<th scope="col">${plain(text)}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("\n");
  return `<table><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table>`;
}

function fields(schema: Schema): string {
  if (schema.oneOf !== undefined) return `<p>One of: ${typeOf(schema)}.</p>`;
  const { properties = {}, required = [] } = schema;
  const rows = Object.entries(properties).map(([name, field]) => [
    code(name),
    `${typeOf(field)}${required.includes(name) ? "" : " <em>optional</em>"}`,
    meaningOf(field),
  ]);
  return table(["field", "type", "meaning"], rows);
}

function parametersOf(operation: Operation, { components }: Document): string {
  const rows = (operation.parameters ?? []).map((given) => {
    const one = "$ref" in given ? components.parameters[nameOf(given.$ref)] : given;
    if (one === undefined) return [];
    const note = one.required === true ? "" : " <em>optional</em>";
    return [
      code(one.name),
      `${plain(one.in)}, ${typeOf(one.schema)}${note}`,
      prose(one.description ?? "") || meaningOf(one.schema),
    ];
  });
  return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["name", "where and type", "meaning"], rows)}`;
}

function commandOf(method: string, path: string, { servers }: Document, example: object | undefined): string {
  const lines = [
    `curl ${method === "get" ? "" : "-X POST "}"${servers[0]?.url ?? ""}${path}"`,
    '  -H "signatureToken: $TOKEN"',
    "  -H 'Content-Type: application/json'",
    ...(example === undefined ? [] : [`  -d '${JSON.stringify(example)}'`]),
  ];
  return `<pre><code>${plain(lines.join(" \\\n"))}</code></pre>`;
}

function answersOf({ responses }: Operation): string {
  const rows = Object.entries(responses).map(([status, { description, content = {} }]) => {
    const lines = description.split("\n").map((line) => prose(line.replace(/^- /, "")));
    const bodies = Object.entries(content).map(([type, { schema }]) =>
      type === "application/json" ? typeOf(schema) || '<a href="#Error">Error</a>' : code(type),
    );
    return [`<strong>${plain(status)}</strong>`, bodies.join(", "), lines.join("<br>")];
  });
  return `<h4>Answers</h4>${table(["status", "body", "meaning"], rows)}`;
}

function sectionOf(method: string, path: string, operation: Operation, document: Document): string {
  const [body] = Object.entries(operation.requestBody?.content ?? {}).map(([, content]) => content);
  const scope = operation.security[0]?.signatureToken?.[0];
  const isOpen = operation.security.length === 0;
  const order = body === undefined ? "" : `<h4>Body</h4><p>${typeOf(body.schema)}</p>`;
  return `<section id="${plain(operation.operationId)}">
<h3><span class="method ${plain(method)}">${plain(method.toUpperCase())}</span> ${code(path)}</h3>
<p><strong>${plain(operation.summary)}.</strong> ${prose(operation.description ?? "")}
${isOpen ? "No token." : `Scope ${code(scope ?? "")}.`}</p>
${parametersOf(operation, document)}${order}${isOpen ? "" : commandOf(method, path, document, body?.example)}
${answersOf(operation)}
</section>`;
}

/** One event. Header fields and answers are the same for all events, and are listed above them. */
function webhookOf(type: string, { operationId, summary, requestBody }: Operation): string {
  const [body] = Object.values(requestBody?.content ?? {});
  return `<section id="${plain(operationId)}"><h3><span class="method post">POST</span> ${code(type)}</h3>
<p>When: ${prose(summary)}. Body: ${body === undefined ? "" : typeOf(body.schema)}.</p></section>`;
}

function webhooksOf(document: Document): string {
  const all = Object.entries(document.webhooks).map(([type, { post }]) => ({ type, post }));
  const common = all[0] === undefined ? "" : `${parametersOf(all[0].post, document)}${answersOf(all[0].post)}`;
  return `${common}${all.map(({ type, post }) => webhookOf(type, post)).join("\n")}`;
}

/**
 * The page of a document that `createDocument` made. `style` and `source` are the paths of style
 * sheet and document, relative to the page.
 */
export function createPage(given: object, { style, source }: { readonly style: string; readonly source: string }): string {
  const document = given as Document;
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    members: all.filter(({ operation }) => operation.tags.includes(name)),
    events: Object.entries(document.webhooks).filter(([, { post }]) => post.tags.includes(name)),
  }));
  const links = groups.flatMap(({ name, members, events }) => [
    `<li class="group">${plain(name)}</li>`,
    ...members.map(
      ({ operation: { operationId, summary } }) => `<li><a href="#${plain(operationId)}">${plain(summary)}</a></li>`,
    ),
    ...events.map(([type, { post }]) => `<li><a href="#${plain(post.operationId)}">${plain(type)}</a></li>`),
  ]);
  const sections = groups.map(
    ({ name, description, members, events }) =>
      `<h2>${plain(name)}</h2><p>${prose(description)}</p>${events.length === 0 ? "" : webhooksOf(document)}
${members.map(({ method, path, operation }) => sectionOf(method, path, operation, document)).join("\n")}`,
  );
  const { info, components } = document;
  const bodies = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<section id="${plain(name)}"><h3>${plain(name)}</h3><p>${prose(schema.description ?? "")}</p>${fields(schema)}</section>`,
  );
  const headers = Object.entries(components.headers).map(([name, { description }]) => [code(name), prose(description)]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${plain(info.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${plain(style)}">
</head>
<body>
<nav aria-label="Operations"><ul>${links.join("\n")}<li class="group">More</li>
<li><a href="#token">The token</a></li><li><a href="#headers">Headers</a></li><li><a href="#bodies">Bodies</a></li></ul></nav>
<main>
<h1>${plain(info.title)} <small>${plain(info.version)}</small></h1>
<p>${prose(info.description)} The same for programs: <a href="${plain(source)}">OpenAPI 3.1</a>.</p>
${sections.join("\n")}
<h2 id="token">The token</h2><p>${prose(components.securitySchemes.signatureToken.description)}</p>
<h2 id="headers">Headers of answers</h2>${table(["header", "meaning"], headers)}
<h2 id="bodies">Bodies</h2>
${bodies.join("\n")}
</main>
</body>
</html>
`;
}
