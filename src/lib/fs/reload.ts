const reloadCallbacks = new Set<() => Promise<void>>()

/** Registers `reload` for `reloadFiles`; it must not reject. The returned function unregisters it. */
export function onReload(reload: () => Promise<void>): () => void {
  reloadCallbacks.add(reload)
  return () => reloadCallbacks.delete(reload)
}

/**
 * Reads all watched files of this process again, even unchanged ones, and reports each as changed. Resolves when all
 * have been read.
 */
export async function reloadFiles(): Promise<void> {
  await Promise.all([...reloadCallbacks].map((reload) => reload()))
}
