/**
 * The service's own description as a judge of its answers: an answer must be documented for its
 * operation and status, and its body must hold no field that the description lacks. Seen answers
 * and fields are kept, so that a test can ask for those that never came.
 */
import { connect } from "node:net";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import type { CallbackDelivery } from "../../lab/kit/callback-receiver.ts";
import type { GatewayAnswer, TestGateway } from "../../lab/kit/gateway-server.ts";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  additionalProperties?: boolean;
}

interface Response {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly schema?: { examples?: unknown[] };
  }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: Schema; readonly example: object }>
    >;
  };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface DescribedPath {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly operation: DescribedOperation;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly webhooks: Readonly<
    Record<string, { readonly post: DescribedOperation & { readonly summary: string } }>
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, object>>;
  };
}

const nameOf = ({ $ref = "" }: Schema): string => $ref.slice($ref.lastIndexOf("/") + 1);
const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => part.replace(/~/g, "~0").replace(/\//g, "~1")).join("/");

export async function readDescription(gateway: TestGateway) {
  const { body: document } = (await gateway.send("/openapi.json")) as { body: Description };
  for (const schema of Object.values(document.components.schemas))
    if (schema.oneOf === undefined) schema.additionalProperties ??= false;
  const ajv = new Ajv2020({ strict: true, strictRequired: true, allErrors: true });
  ajv.addVocabulary([
    "openapi",
    "info",
    "servers",
    "tags",
    "paths",
    "webhooks",
    "components",
    "example",
  ]);
  ajv.addFormat("date-time", true);
  ajv.addSchema(document, "service");
  /**
   * The compiled schema of a place. `ajv.validate` of a reference would compile it at each call.
   */
  function fitting(place: string): ValidateFunction {
    const fits = ajv.getSchema(`service${place}`);
    if (fits === undefined) throw new Error(`no schema at ${place}`);
    return fits;
  }
  const codes = new Map<string, Set<string>>(); // seen, by operation
  const fields = new Map<string, Set<string>>(); // seen, by schema
  const paths: DescribedPath[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase() as "GET",
      path,
      operation,
    })),
  );

  function keep(map: Map<string, Set<string>>, name: string, values: readonly string[]): void {
    const set = map.get(name) ?? new Set();
    for (const value of values) set.add(value);
    map.set(name, set);
  }

  /** Keeps which fields of which schemas a body had, however deep. */
  function keepFields(schema: Schema, body: unknown): void {
    if (schema.items !== undefined)
      for (const item of body as unknown[]) keepFields(schema.items, item);
    // The body decides between the forms: an error has a code, an invoice has choices.
    const isOf = (form: Schema, name: string, field: string): boolean =>
      (nameOf(form) === name) === Object.hasOwn(body as object, field);
    const forms = (schema.anyOf ?? []).filter(
      (form) => isOf(form, "Error", "code") && isOf(form, "Invoice", "choices"),
    );
    for (const form of forms) keepFields(form, body);
    for (const part of schema.allOf ?? []) if (part.$ref !== undefined) keepFields(part, body);
    if (schema.$ref !== undefined) {
      keep(fields, nameOf(schema), Object.keys(body as object));
      keepFields(document.components.schemas[nameOf(schema)] ?? {}, body);
    }
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const value = (body as Readonly<Record<string, unknown>>)[name];
      if (value !== undefined) keepFields(inner, value);
    }
  }

  return {
    paths,
    schemas: document.components.schemas,
    codes,
    fields,
    /** Whether an order is one that the operation's schema takes. */
    takes({ method, path }: DescribedPath, order: object): boolean {
      const place = pointer(
        "paths",
        path,
        method.toLowerCase(),
        "requestBody",
        "content",
        "application/json",
        "schema",
      );
      return fitting(`#/${place}`)(order) === true;
    },
    /** Fails unless the answer is one that the operation may give. */
    judge(
      { method, path, operation }: DescribedPath,
      { status, body, text, headers }: GatewayAnswer,
    ): void {
      const about = `${operation.operationId} answers ${status} ${text.slice(0, 300)}`;
      const response = operation.responses[status];
      expect(response, `${about}: the status is not documented`).toBeDefined();
      const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
      const schema = response?.content?.[type]?.schema;
      expect(schema, `${about}: ${type} is not documented`).toBeDefined();
      if (type === "application/json") {
        const place = pointer(
          "paths",
          path,
          method.toLowerCase(),
          "responses",
          `${status}`,
          "content",
          type,
          "schema",
        );
        const fits = fitting(`#/${place}`);
        expect(fits(body) ? [] : fits.errors, about).toEqual([]);
        keepFields(schema ?? {}, body);
      }
      keep(codes, operation.operationId, [status === 200 ? "200" : (body.code ?? `${status}`)]);
    },
    webhooks: document.webhooks,
    /** Fails if the description of its event does not take the message, header fields included. */
    judgeMessage({
      type,
      body,
      headers,
    }: Pick<CallbackDelivery, "type" | "body" | "headers">): void {
      const webhook = document.webhooks[type]?.post;
      expect(webhook, `${type} is not documented`).toBeDefined();
      for (const { $ref } of (webhook?.parameters ?? []) as readonly { readonly $ref: string }[]) {
        const fits = fitting(`${$ref}/schema`);
        expect(fits(headers[nameOf({ $ref })]) ? [] : fits.errors, `${type}: ${$ref}`).toEqual([]);
      }
      const place = pointer(
        "webhooks",
        type,
        "post",
        "requestBody",
        "content",
        "application/json",
        "schema",
      );
      const fits = fitting(`#/${place}`);
      expect(fits(JSON.parse(body)) ? [] : fits.errors, `${type}: ${body}`).toEqual([]);
      keepFields(webhook?.requestBody?.content["application/json"]?.schema ?? {}, JSON.parse(body));
    },
    /** Codes that the description names for an operation. */
    codesOf({ responses }: DescribedOperation): readonly string[] {
      const named = Object.values(responses).flatMap(({ content = {} }) =>
        (content["application/json"]?.schema.allOf ?? []).flatMap(
          ({ properties }) =>
            ((properties?.code as { enum?: readonly string[] } | undefined)?.enum ??
              []) as readonly string[],
        ),
      );
      return ["200", ...named];
    },
  };
}

/** Writes bytes as they are; gives the one answer that comes back before the connection ends. */
export function rawAnswer(gateway: TestGateway, head: string): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1", () =>
      socket.write(head),
    );
    let got = "";
    socket.on("data", (part) => {
      got += part.toString("utf8");
    });
    socket.on("close", () => {
      const [top = "", text = ""] = got.split("\r\n\r\n");
      const [first = "", ...lines] = top.split("\r\n");
      const headers = Object.fromEntries(
        lines.map((line) => [
          line.split(":")[0]?.toLowerCase() ?? "",
          line.slice(line.indexOf(":") + 2),
        ]),
      );
      // A body in chunks stands between its length and a zero.
      const json = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
      resolve({
        status: Number(first.split(" ")[1]),
        headers,
        text: json,
        body: json === "" ? null : JSON.parse(json),
      });
    });
    socket.on("error", reject);
  });
}
