import { InterfaceError } from '../../interface/errors.ts'

/** The HTTP status that the store answered; undefined where none came. */
export function statusOf(error: unknown): number | undefined {
  return metadataOf(error)?.httpStatusCode
}

/** Whether the request was sent more than once. */
export function wasRepeated(error: unknown): boolean {
  return (metadataOf(error)?.attempts ?? 1) > 1
}

/** What became of a request that the store did not carry out: ServiceUnavailable (503), which says no more. */
export function asTrouble(error: unknown): InterfaceError {
  if (error instanceof InterfaceError) return error
  return new InterfaceError('ServiceUnavailable', 'the object store is unavailable; retry later', {
    cause: error,
  })
}

/** The trouble in the words of the operator: the code of the store, or that of the network. */
export function describeTrouble(error: unknown): string {
  const cause = error instanceof InterfaceError ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
  return [code, cause.message].filter((text) => text !== '' && text !== 'UnknownError').join(': ')
}

function metadataOf(error: unknown): { httpStatusCode?: number; attempts?: number } | undefined {
  return error instanceof Error && '$metadata' in error ? (error.$metadata as object) : undefined
}
