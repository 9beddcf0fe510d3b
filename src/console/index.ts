/**
 * The console on the admin port (`addConsole`) and what it asks of the gateway (`ConsoleSource`).
 */
export type { Fact } from './audit-entries.ts'
export { addConsole, type ConsoleSource } from './console.ts'
