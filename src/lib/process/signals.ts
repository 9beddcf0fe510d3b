/** The signals that end a server in order. */
export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const

/**
 * Keeps signals from ending this process that ask a server for something else: SIGHUP to read its files again, SIGUSR1
 * and SIGUSR2 to do as other servers do. On SIGUSR1, Node.js would also open its debugger to every user of the machine.
 */
export function ignoreOtherSignals(): void {
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined)
}
