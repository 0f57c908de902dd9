/**
 * GET /pay/TOKEN over HTTP: who gets the page, under which policy, in which language, how often;
 * and the way to it, `paymentUrl` and `returnUrl` of an order.
 */
import { describe, expect, it } from "vitest";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import { keepDetectedPayment } from "../../gateway/store/payments.ts";
import {
  anotherGateway,
  db,
  deposit,
  eachTestItsGateway,
  ether,
  gateway,
  many,
  read,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const site = "https://shop.example.com";

/** A request, with the path of its page. */
async function asked(
  change: object = {},
): Promise<{ readonly path: string; readonly id: string; readonly url: string }> {
  const { body } = await deposit(change);
  const { paymentUrl, transactionId } = body as {
    readonly paymentUrl: string;
    readonly transactionId: string;
  };
  return { path: new URL(paymentUrl).pathname, id: transactionId, url: paymentUrl };
}

const settle = (change: Parameters<typeof changeMerchantPage>[2]) =>
  changeMerchantPage(gateway.operator, gateway.merchant.merchantId, change);

describe("the address of the payment page", () => {
  it("has 128 random bits, is in the record, and stays with the order", async () => {
    await ready();
    const first = await asked();
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/pay\/[A-Za-z0-9_-]{22}$/);
    expect((await asked()).url).toBe(first.url);
    expect((await asked({ orderId: "order-2" })).url).not.toBe(first.url);
    expect((await read(`/transaction/${first.id}?transactionType=1`)).body.paymentUrl).toBe(
      first.url,
    );
    expect(row(first.id)?.payToken).toHaveLength(22);
    db().run("UPDATE deposits SET payToken = NULL WHERE id = ?", first.id);
    expect((await read(`/transaction/${first.id}?transactionType=1`)).body.paymentUrl).toBe("");
  });

  it("a returnUrl is taken on the merchant's own sites only, and the order stays the same with another", async () => {
    await ready();
    const returning = (returnUrl: unknown, orderId = "order-r") => deposit({ orderId, returnUrl });
    const refused = [
      `${site}/thanks`,
      "/thanks",
      "javascript:alert(1)",
      "ftp://shop.example.com",
      7,
      `${site}.evil.example`,
      "https://u:p@shop.example.com",
    ];
    for (const one of refused)
      expect((await returning(one)).body).toMatchObject({
        code: "return_url_invalid",
        field: "returnUrl",
      });
    settle({ origins: [site] });
    for (const one of refused.slice(1))
      expect((await returning(one)).body.code).toBe("return_url_invalid");
    const { path, id } = await asked({ orderId: "order-r", returnUrl: `${site}/thanks?o=1` });
    expect((await asked({ orderId: "order-r", returnUrl: `${site}/other` })).id).toBe(id);
    expect((await gateway.send(path)).text).toContain(`href="${site}/thanks?o=1"`);
    settle({ origins: [] });
    expect((await gateway.send(path)).text).not.toContain(site);
  });
});

describe("GET /pay/TOKEN", () => {
  it("is a page under a strict policy that nobody keeps and nobody else embeds", async () => {
    await ready();
    const { path } = await asked();
    const { status, headers, text } = await gateway.send(path);
    expect([
      status,
      headers["content-type"],
      headers["cache-control"],
      headers["referrer-policy"],
    ]).toEqual([...[200, "text/html; charset=utf-8", "no-store", "no-referrer"]]);
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const places = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, place = ""]) => place);
    expect(
      places.filter((place) => /^\w+:/.test(place) && !/^(?:data:,|ethereum:)/.test(place)),
    ).toEqual([]);
    for (const place of places.filter((one) => one.startsWith("page."))) {
      const asset = await gateway.send(`/pay/${place}`);
      expect([asset.status, asset.headers["cache-control"]]).toEqual([
        200,
        "public, max-age=86400",
      ]);
      expect(asset.text.length).toBeLessThan(12 * 1024);
    }
    expect((await gateway.send(path, { method: "HEAD" })).status).toBe(200);
    expect(
      (
        await gateway.send(path, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
        })
      ).status,
    ).toBe(405);
  });

  it("may be embedded by the merchant's own sites", async () => {
    await ready();
    settle({ origins: [site, "https://other.example"] });
    const { headers } = await gateway.send((await asked()).path);
    expect(headers["content-security-policy"]).toMatch(
      /; frame-ancestors https:\/\/shop\.example\.com https:\/\/other\.example$/,
    );
  });

  it("says nothing that belongs to the service or to others", async () => {
    await ready();
    const { path, id } = await asked({ metadata: { customer: "C-1" } });
    await asked({ orderId: "order-other" });
    const { text } = await gateway.send(path);
    for (const secret of [id, gateway.merchant.merchantId, "C-1", "order-other", "eip155"])
      expect(text).not.toContain(secret);
    expect(text).toContain("order-1");
  });

  it("answers an unknown and a malformed token in one and the same way", async () => {
    await ready();
    const known = (await asked()).path;
    const paths = [
      "/pay/AAAAAAAAAAAAAAAAAAAAAA",
      "/pay/x",
      `${known}x`,
      "/pay/%00",
      `/pay/${"a".repeat(90)}`,
    ];
    const answers = await Promise.all(paths.map((path) => gateway.send(path)));
    for (const { status, text, headers } of answers) {
      expect([status, text, headers["content-security-policy"]]).toEqual([
        ...[404, answers[0]?.text, answers[0]?.headers["content-security-policy"]],
      ]);
    }
    expect(answers[0]?.text).toContain("There is no such payment");
    expect((await gateway.send("/pay/AAAAAAAAAAAAAAAAAAAAAA/state")).body).toEqual({ state: "" });
    db().run("UPDATE deposits SET payToken = NULL");
    expect((await gateway.send("/pay/")).status).toBe(404);
    expect((await gateway.send(known)).status).toBe(404);
  });

  it("is in the customer's language: the link's, the browser's, the merchant's", async () => {
    await ready();
    const { path } = await asked();
    const language = async (query: string, accept?: string) => {
      const { text, headers } = await gateway.send(
        `${path}${query}`,
        accept === undefined ? {} : { headers: { "Accept-Language": accept } },
      );
      const shown = /<html lang="(\w+)"/.exec(text)?.[1];
      expect(headers["content-language"]).toBe(shown);
      return shown;
    };
    expect(await language("")).toBe("en");
    expect(await language("", "tr-TR,tr;q=0.9,en;q=0.5")).toBe("tr");
    expect(await language("?lang=en", "tr")).toBe("en");
    expect(await language("?lang=xx", "tr")).toBe("tr");
    db().run("UPDATE merchants SET language = 'tr'");
    expect(await language("")).toBe("tr");
    expect(await language("", "de")).toBe("tr");
  });

  it("shows the merchant's own words, and the state to its script", async () => {
    await ready();
    const { path, id } = await asked();
    expect((await gateway.send(path)).text).toContain("Pay Shop");
    settle({ shownName: "Corner <Shop>", contact: "help@shop.example.com" });
    const page = (await gateway.send(path)).text;
    expect(page).toContain("Pay Corner &lt;Shop>");
    expect(page).toContain("mailto:help@shop.example.com?subject=order-1");
    const state = (await gateway.send(`${path}/state`)).body;
    expect(state).toEqual({
      state: "waiting",
      mark: expect.stringMatching(/^[0-9a-f]{16}$/),
      now: gateway.clock.nowMs,
    });
    expect(page).toContain(`data-mark="${state.mark}"`);
    db().run(
      "UPDATE deposits SET status = 1, stage = 'completed', receivedUnits = units WHERE id = ?",
      id,
    );
    expect((await gateway.send(`${path}/state`)).body.state).toBe("completed");
  });

  it("asks for nothing while the chain is not read, and shows a payment's transaction before it is final", async () => {
    await ready();
    const { path, id } = await asked();
    const state = async (): Promise<string> => (await gateway.send(`${path}/state`)).body.state;
    const { clock, service } = gateway;
    const readAtMs = clock.nowMs;
    Object.assign(service, { readAt: () => readAtMs });
    clock.nowMs = readAtMs + 299_999;
    expect(await state()).toBe("waiting");
    clock.nowMs += 1;
    expect(await state()).toBe("outOfService");
    expect((await gateway.send(path)).text).not.toContain('id="address"');
    Object.assign(service, { readAt: () => null });
    expect(await state()).toBe("outOfService"); // no pass since the start, five minutes ago
    Object.assign(service, { readAt: () => clock.nowMs });
    const payment = {
      ...{
        network: "eip155:31337",
        txHash: `0x${"ab".repeat(32)}`,
        logIndex: -1,
        address: `0x${"12".repeat(20)}`,
      },
      ...({
        currency: "eth",
        units: `${ether}`,
        block: 101,
        blockHash: "0xb",
        final: 0,
        transactionId: id,
      } as const),
    };
    keepDetectedPayment(db(), payment);
    expect(await state()).toBe("seen");
    expect((await gateway.send(path)).text).toContain(payment.txHash);
    keepDetectedPayment(db(), {
      ...payment,
      txHash: `internal:102:${payment.address}`,
      block: 102,
    });
    for (let more = 0; more < 12; more += 1)
      keepDetectedPayment(db(), {
        ...payment,
        txHash: `0x${more.toString(16).padStart(64, "0")}`,
        block: 50 + more,
      });
    const shown = (await gateway.send(path)).text;
    expect(shown.match(/class="hash"/g)).toHaveLength(10);
    expect([shown.includes(payment.txHash), shown.includes("and 3 older")]).toEqual([true, true]);
    // Coins that came within another call have no transaction of their own, and hide no other.
    const { text } = await gateway.send(path);
    expect([text.includes("internal:"), text.includes(payment.txHash)]).toEqual([false, true]);
  });

  it("has a limit per address, with a page that says when to come back", async () => {
    await anotherGateway({ limits: { ...many.limits, payerReadsPerSecond: 1, burst: 2 } });
    await ready();
    const { path } = await asked();
    for (const place of [path, `${path}/state`])
      expect((await gateway.send(place)).status).toBe(200);
    const { status, headers, text } = await gateway.send(path);
    expect([status, headers["retry-after"]]).toEqual([429, "1"]);
    expect(text).toContain("Too many requests");
    expect((await read("/transactions")).status).toBe(200);
    gateway.clock.nowMs += 1000;
    expect((await gateway.send(path)).status).toBe(200);
  });
});

describe("a page that cannot be made", () => {
  it("says so, sets its row aside with one alarm, and leaves the other pages", async () => {
    await ready();
    const [broken, unread, whole] = [
      await asked(),
      await asked({ orderId: "order-2" }),
      await asked({ orderId: "order-3" }),
    ];
    db().run("UPDATE deposits SET quote = '{' WHERE id IN (?, ?)", broken.id, unread.id);
    // The page and its state each set a row aside by themselves.
    for (const [place, { id }] of [
      [broken.path, broken] as const,
      [`${unread.path}/state`, unread] as const,
    ]) {
      for (const again of [1, 2]) {
        const { status, text, headers } = await gateway.send(place);
        expect([status, headers["referrer-policy"], again]).toEqual([503, "no-referrer", again]);
        expect(text).not.toContain(id);
      }
      expect(db().all("SELECT kind FROM setAside WHERE id = ?", id)).toEqual([{ kind: "record" }]);
    }
    expect((await gateway.send(broken.path)).text).toContain("This payment cannot be shown now");
    expect((await gateway.send(`${broken.path}?lang=tr`)).text).toContain(
      "Bu ödeme şu anda gösterilemiyor",
    );
    expect((await gateway.send(whole.path)).status).toBe(200);
    expect(db().all("SELECT id FROM setAside")).toHaveLength(2);
    expect(db().all("SELECT 1 FROM audit WHERE act = 'alarm ROW_SET_ASIDE'")).toHaveLength(2);
    db().run("UPDATE deposits SET quote = NULL WHERE id = ?", broken.id);
    expect((await gateway.send(broken.path)).status).toBe(200);
  });
});

describe("merchant page", () => {
  it("keeps what is not said, and notes each change", () => {
    const { merchantId } = gateway.merchant;
    expect(settle({ shownName: "Corner", origins: [site, site] })).toEqual({
      ...{ ok: true, page: { shownName: "Corner", contact: "", origins: [site] } },
    });
    expect(settle({ contact: "help@shop.example.com" })).toMatchObject({
      page: { shownName: "Corner", origins: [site] },
    });
    expect(settle({})).toMatchObject({ page: { contact: "help@shop.example.com" } });
    const acts = db().all<{ detail: string }>(
      "SELECT detail FROM audit WHERE act = 'merchant page' AND subject = ?",
      merchantId,
    );
    expect(acts.map(({ detail }) => JSON.parse(detail))).toEqual([
      { shownName: "Corner", origins: [site, site] },
      { contact: "help@shop.example.com" },
    ]);
    expect(changeMerchantPage(gateway.operator, "m_none", {})).toMatchObject({
      ok: false,
      code: "GATEWAY_UNKNOWN_MERCHANT",
    });
  });
});
