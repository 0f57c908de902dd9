/** The name that this courier gives itself towards the gateway. */
import { version } from "../../base/version.ts";

export const softwareName = `autowithdraw/${version}`;
