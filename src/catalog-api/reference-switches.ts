/** As in `external_blob_mode`, `allow_external_blob_outside_bases`, `initial_bases` and `target_bases` of Lance. */
const switchName = /externalblob|^(?:.*[^a-z])?(?:(?:initial|target)?bases|basepaths)$/

/**
 * Whether an option of this name would let values refer to further objects, or a table to further folders: the catalog
 * reads them with its own credential. `name` is folded (`foldName`).
 */
export function isReferenceSwitch(name: string): boolean {
  return switchName.test(name)
}
