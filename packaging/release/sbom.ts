/**
 * The parts list of a release (CycloneDX 1.6, JSON): each production package of agent and gateway
 * with version, hash, licence and dependencies. The same release gives the same bytes, serial
 * number included. Source: cyclonedx.org/docs/1.6/json.
 */
import { createHash } from "node:crypto";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import type { LockedPackage, Project } from "./contents.ts";

const nodeModules = "node_modules/";

/** The document. `atSeconds` since 1970. */
export function sbomText(
  projects: { readonly agent: Project; readonly gateway: Project },
  atSeconds: number,
): string {
  const { agent, gateway } = projects;
  const main = new Models.Component(Enums.ComponentType.Application, agent.manifest.name, {
    version: agent.manifest.version,
    description: agent.manifest.description,
    bomRef: agent.manifest.name,
    purl: `pkg:npm/${agent.manifest.name}@${agent.manifest.version}`,
    licenses: licence(agent.manifest.license),
  });
  const service = new Models.Component(Enums.ComponentType.Application, gateway.manifest.name, {
    version: gateway.manifest.version,
    description: gateway.manifest.description,
    bomRef: gateway.manifest.name,
    purl: `pkg:npm/${gateway.manifest.name}@${gateway.manifest.version}`,
    licenses: licence(gateway.manifest.license),
  });
  const components = new Map<string, Models.Component>();
  for (const [part, { lock }] of Object.entries({ agent, gateway })) {
    for (const [path, entry] of Object.entries(lock.packages))
      if (path !== "") note(components, part, path, entry);
  }
  link(main, agent, components);
  link(service, gateway, components);
  const all = [service, ...components.values()];
  const bom = new Models.Bom({
    serialNumber: serialOf([...components.keys()].sort().join("\n"), main.purl ?? ""),
    metadata: new Models.Metadata({ component: main, timestamp: new Date(atSeconds * 1000) }),
    components: new Models.ComponentRepository(all),
  });
  const serializer = new Serialize.JsonSerializer(
    new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6),
  );
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace("@", "%40")}@${version}`;
const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf(nodeModules) + nodeModules.length);

function note(
  components: Map<string, Models.Component>,
  part: string,
  path: string,
  entry: LockedPackage,
): void {
  const name = nameOf(path);
  const purl = purlOf(name, entry.version);
  const slash = name.indexOf("/");
  const digest = Buffer.from((entry.integrity ?? "").replace(/^sha512-/, ""), "base64").toString(
    "hex",
  );
  const component =
    components.get(purl) ??
    new Models.Component(Enums.ComponentType.Library, name.slice(slash + 1), {
      ...(slash > 0 ? { group: name.slice(0, slash) } : {}),
      version: entry.version,
      bomRef: purl,
      purl,
      hashes: new Models.HashDictionary([[Enums.HashAlgorithm["SHA-512"], digest]]),
      licenses: licence(entry.license),
    });
  component.properties.add(new Models.Property("autowithdraw:part", part));
  components.set(purl, component);
}

function licence(expression: string | undefined): Models.LicenseRepository {
  return new Models.LicenseRepository(
    expression === undefined ? [] : [new Models.LicenseExpression(expression)],
  );
}

/** Adds the dependencies of each package, found as Node looks them up from its folder. */
function link(
  main: Models.Component,
  { lock }: Project,
  components: ReadonlyMap<string, Models.Component>,
): void {
  const componentAt = (path: string): Models.Component | undefined => {
    const entry = lock.packages[path];
    return entry === undefined ? undefined : components.get(purlOf(nameOf(path), entry.version));
  };
  for (const [path, { dependencies = {}, optionalDependencies = {} }] of Object.entries(
    lock.packages,
  )) {
    const from = path === "" ? main : componentAt(path);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = lookUp(path, name)
        .map(componentAt)
        .find((one) => one !== undefined);
      if (from !== undefined && found !== undefined) from.dependencies.add(found.bomRef);
    }
  }
}

/** The paths at which Node looks for a package from `path`, nearest first. */
function lookUp(path: string, name: string): readonly string[] {
  const places: string[] = [];
  for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf(nodeModules) - 1)))
    places.push(`${at}/${nodeModules}${name}`);
  return [...places, `${nodeModules}${name}`];
}

/** A UUID of version 8, the hash of `parts`. Source: RFC 9562, section 5.8. */
function serialOf(...parts: readonly string[]): string {
  const bytes = createHash("sha256").update(parts.join("\0")).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
