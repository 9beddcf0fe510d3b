/** For the command of the bundled catalog: how a command runs and fails. */
export { isCatalogProcess, runCatalogProcess } from './common/catalog-process.ts'
export { CommandFailure, runStep } from './common/command-failure.ts'
export type { Io } from './common/io.ts'
export { ignoreOtherSignals, runUntilStopped } from './common/run-until-stopped.ts'
