/**
 * Brings bitcoind and litecoind into .cache/utxo-nodes for the tests that let real nodes judge our
 * transactions. Debian's own packages, unpacked and not installed: bitcoin-knots with the libraries
 * of its release (mmdebstrap, as root), and litecoind with those of this machine. A node that is
 * there is left alone.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const mirror = "http://deb.debian.org/debian";
const litecoinPackages = [
  ...[
    "litecoind",
    "libboost-filesystem1.74.0",
    "libboost-thread1.74.0",
    "libdb5.3++",
    "libevent-2.1-7",
  ],
  ...[
    "libevent-pthreads-2.1-7",
    "libfmt9",
    "libleveldb1d",
    "libminiupnpc17",
    "libsnappy1v5",
    "libzmq5",
  ],
];
const cache = fileURLToPath(new URL("../.cache/utxo-nodes", import.meta.url));

/** The folder that a node is unpacked into. */
const folderOf = (name) => join(cache, name);

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { stdio: ["pipe", "inherit", "inherit"], ...options });
  if (done.error !== undefined || done.status !== 0)
    throw new Error(`${command} failed: ${done.error?.message ?? "see above"}`);
}

function bringBitcoind(root) {
  // No release has both Knots and all of its libraries. A mirror may lag behind the date on its
  // lists; their signatures are checked all the same.
  const input = ["trixie", "forky", "sid"].map((suite) => `deb ${mirror} ${suite} main\n`).join("");
  const args = [
    "--mode=root",
    "--variant=extract",
    '--aptopt=Acquire::Check-Valid-Until "false"',
    "--include=bitcoin-knots",
  ];
  run("mmdebstrap", [...args, "trixie", root, "-"], { input });
}

function bringLitecoind(root) {
  const aside = `${root}.deb`;
  mkdirSync(aside, { recursive: true });
  run("apt-get", ["download", ...litecoinPackages], { cwd: aside });
  for (const file of readdirSync(aside)) run("dpkg", ["-x", join(aside, file), root]);
  rmSync(aside, { recursive: true });
}

for (const [name, bring] of [
  ["bitcoin", bringBitcoind],
  ["litecoin", bringLitecoind],
]) {
  if (existsSync(folderOf(name))) continue;
  const fresh = `${folderOf(name)}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(dirname(fresh), { recursive: true });
  try {
    bring(fresh);
    renameSync(fresh, folderOf(name));
  } catch (error) {
    process.stderr.write(
      `utxo-nodes: ${name}: ${error.message}\nhint: apt-get install mmdebstrap, on Debian as root\n`,
    );
    process.exitCode = 1;
  }
}
