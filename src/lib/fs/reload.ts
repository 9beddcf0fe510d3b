const reloadCallbacks = new Set<() => Promise<void>>()

/** Has `reload` called by `reloadFiles`, until the function that is returned is called. It must not reject. */
export function onReload(reload: () => Promise<void>): () => void {
  reloadCallbacks.add(reload)
  return () => reloadCallbacks.delete(reload)
}

/**
 * Reads all files again that this process watches, also those that have not changed, and reports each as after a
 * change. Resolves when all are read.
 */
export async function reloadFiles(): Promise<void> {
  await Promise.all([...reloadCallbacks].map((reload) => reload()))
}
