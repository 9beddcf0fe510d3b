/**
 * Keeps a server until somebody stops it with SIGINT or SIGTERM (or, for a child process, until its parent is
 * gone), then closes it. A second signal does not wait for requests that are still under way. The announcement is
 * printed when it can be stopped: whoever reads it may do so at once.
 */
export async function untilStopped(close: () => Promise<void>, announcement = ''): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    if (process.send !== undefined) {
      process.once('disconnect', () => resolve())
      if (!process.connected) resolve()
    }
    process.stdout.write(announcement)
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  await close()
  // The open channel would keep this process, while the parent waits for its end.
  if (process.connected) process.disconnect()
}
