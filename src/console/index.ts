/**
 * The console on the admin port (`addConsole`) and what it asks of the gateway (`ConsoleSource`).
 */
export type { Fact } from './audit-entries.ts'
export { addConsole } from './console.ts'
export type { ConsoleSource } from './console-state.ts'
