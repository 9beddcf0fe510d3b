/** The console on the admin port (`addConsole`), and the state of the gateway that it shows (`ConsoleSource`). */
export type { Fact } from './audit-entries.ts'
export { addConsole } from './console.ts'
export type { ConsoleSource } from './console-state.ts'
