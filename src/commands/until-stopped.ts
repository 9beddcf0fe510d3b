/**
 * Keeps a server until somebody stops it with SIGINT or SIGTERM (or, for a child process, until its parent is
 * gone), then closes it. A second signal does not wait for requests that are still under way.
 */
export async function untilStopped(close: () => Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    if (process.send !== undefined) {
      process.once('disconnect', () => resolve())
      if (!process.connected) resolve()
    }
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  await close()
  // The open channel would keep this process, while the parent waits for its end.
  if (process.connected) process.disconnect()
}
