/** `token`: a signatureToken by the API key of a file, as any JWT library verifies it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { apiKey, kit, nowMs, run, secret, usesTheKit } from "../support/command-kit.ts";

usesTheKit();

describe("token", () => {
  it("the command token makes a token that any JWT library verifies", async () => {
    const { code, text } = await run("token --api-key-file DIR/api.key --lifetime 120");
    expect(code, text).toBe(0);
    const token = text.trim();
    const verified = await jwtVerify(token, Buffer.from(secret), { currentDate: new Date(nowMs) });
    expect(verified.payload.sub).toBe("k_0123456789abcdef");
    expect((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0)).toBe(120);
    expect(decodeProtectedHeader(token)).toEqual({
      alg: "HS256",
      typ: "JWT",
      kid: "k_0123456789abcdef",
    });
    await expect(
      jwtVerify(token, Buffer.from("another"), { currentDate: new Date(nowMs) }),
    ).rejects.toThrow();
  });

  it("the command token binds a strict token to method, path and body", async () => {
    const line =
      "token --api-key-file DIR/api.key --profile strict --method post --path /api/v1/autoWithdraw --body {} --json";
    const { text } = await run(line);
    const { signatureToken } = JSON.parse(text);
    expect(decodeJwt(signatureToken)).toMatchObject({
      method: "POST",
      path: "/api/v1/autoWithdraw",
      bodyHash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    });
  });

  it.each([
    ["token --api-key-file DIR/none.key", 2],
    ["token --api-key-file DIR/bad.key", 2],
    ["token --api-key-file DIR/open.key", 2],
    ["token --api-key-file DIR/api.key --lifetime 301", 2],
    ["token --api-key-file DIR/api.key --profile strict", 2],
    ["token --api-key-file DIR/api.key --method POST", 2],
    ["token --api-key-file DIR/api.key --profile loose", 2],
  ])("the command token: %s", async (line, exit) => {
    writeFileSync(join(kit.dir, "bad.key"), "k_1.2.3", { mode: 0o600 });
    writeFileSync(join(kit.dir, "open.key"), apiKey, { mode: 0o644 });
    const { code, text } = await run(line);
    expect(code, text).toBe(exit);
    expect(text).toMatch(/^autowithdraw: .+\nhint: .+\n$/);
    expect(text).not.toContain(secret);
  });
});
