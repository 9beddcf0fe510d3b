import type { Identifier } from 'catalog-gateway/catalog-api'
import type { FunctionEntry } from '../../database/functions.ts'

/**
 * Returns a version in the form that LanceDB's clients read. They require a location and an image, which are empty: this
 * catalog builds no functions. `content` is that of the artifact.
 */
export function toFunctionVersion(
  namespacePath: Identifier,
  { name, version, objectId, definition, createdAt }: FunctionEntry,
  content?: unknown,
) {
  return {
    name,
    namespace_path: [...namespacePath],
    object_id: objectId,
    location: '',
    version: String(version),
    image: { manifest_digest: '', descriptor: {}, source: false },
    ...definition,
    artifact: { ...definition.artifact, ...(content !== undefined && { content }) },
    created_at: new Date(createdAt).toISOString(),
    created_at_millis: createdAt,
    metadata: {},
    disabled: false,
  }
}
