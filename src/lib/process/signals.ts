export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const

/**
 * Prevents other signals from ending this process: SIGHUP reloads files, SIGUSR1 and SIGUSR2 have other uses in other
 * servers. On SIGUSR1, Node.js would also open its debugger to every user of the machine.
 */
export function ignoreOtherSignals(): void {
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined)
}
