/** The texts that installing writes: units for this machine, and the short commands. Pure. */
import { installedConfig, installedState } from "../../agent/installed.ts";
import { gatewayConfig, gatewayState, gatewayUser, type Layout } from "./layout.ts";

/** A unit of packaging/systemd/ with the path of this machine's Node and of the part's program. */
export function unitText(text: string, node: string, { part, program }: Layout): string {
  const placed =
    part === "gateway"
      ? text.replaceAll(" /opt/autowithdraw/gateway/", ` ${program}/gateway/`)
      : text;
  return placed.replaceAll("/usr/bin/node ", `${node} `);
}

const head = `#!/bin/sh
# Made by install, and made again by every upgrade. The environment of anybody who calls decides nothing about what code runs.
unset NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS LD_PRELOAD
`;

/**
 * The short command, a shell script. If root calls the gateway's command, it runs as the gateway's
 * user, so no file of root gets into this user's folder.
 */
export function commandText(node: string, { part, program, launcher }: Layout): string {
  const call = `${node} ${program}/${launcher}`;
  if (part === "agent") {
    return `${head}AUTOWITHDRAW_STATE=${installedState}
AUTOWITHDRAW_CONFIG=${installedConfig}
export AUTOWITHDRAW_STATE AUTOWITHDRAW_CONFIG
exec ${call} "$@"
`;
  }
  return `${head}case "\${1-}/\${2-}" in
/* | -* | init/* | help/*) ;;
*)
  named=no
  for word in "$@"; do
    case "$word" in --config | --config=* | --help | -h) named=yes ;; esac
  done
  if [ $named = no ]; then set -- "$@" --config ${gatewayConfig}; fi
  ;;
esac
if [ "$(id -u)" = 0 ]; then
  # The audit names who typed: the user before sudo, else root, and never the gateway's own user.
  SUDO_USER="\${SUDO_USER:-root}"
  export SUDO_USER
  cd ${gatewayState} || exit 2
  exec setpriv --reuid=${gatewayUser} --regid=${gatewayUser} --init-groups ${call} "$@"
fi
exec ${call} "$@"
`;
}
