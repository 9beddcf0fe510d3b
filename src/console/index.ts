/**
 * The console on the admin port (`addConsole`) and what it asks of the gateway (`ConsoleSource`).
 */
export type { UpstreamState } from './console-state.ts'
export { addConsole, type ConsoleSource } from './console.ts'
