/** What the command of the bundled catalog uses: how settings are read, and how a command runs and fails. */
export { isCatalogProcess, runCatalogProcess } from './common/catalog-process.ts'
export { CommandFailure, runStep } from './common/command-failure.ts'
export type { Io } from './common/io.ts'
export { runUntilStopped } from './common/run-until-stopped.ts'
// Past the door of the settings, so that the process of the catalog loads none of those of the gateway.
export { listenHost } from '../config/listen-address.ts'
export { readSettings } from '../config/loading/read-settings.ts'
export { outboundSchema } from '../config/outbound-settings.ts'
export { originUrl, path } from '../config/setting-types.ts'
