import { getMembers } from '../json/is-object.ts'

const maxMessageLength = 500

/**
 * `Unreachable`: no complete response, or a credential file cannot be read. `Refused`: an error status. `Malformed`: a
 * response that is not what the API defines. `TooLarge`: a response beyond the limits of the client.
 */
export type KubernetesErrorReason = 'Unreachable' | 'Refused' | 'Malformed' | 'TooLarge'

/** A request to the API server failed. The message is for operators: it may name objects of the cluster. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError'
  readonly reason: KubernetesErrorReason
  /** HTTP status, or the code of an ERROR event; only if `Refused`. */
  readonly status: number | undefined

  constructor(
    reason: KubernetesErrorReason,
    message: string,
    { status, cause }: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.status = status
  }
}

/** For `catch`: returns a KubernetesError as it is, and wraps any other error as `Malformed`. */
export function toKubernetesError(error: unknown): KubernetesError {
  if (error instanceof KubernetesError) return error
  return new KubernetesError('Malformed', `the response of the API server cannot be used: ${String(error)}`, {
    cause: error,
  })
}

/** Creates the error for a `Status` object; `status` is the one of the response, if it is not in the object. */
export function createStatusError(content: unknown, status?: number): KubernetesError {
  const { code, message } = getMembers(content)
  const known = status ?? (typeof code === 'number' ? code : 500)
  const detail = typeof message === 'string' ? `: ${removeControls(message.slice(0, maxMessageLength))}` : ''
  return new KubernetesError('Refused', `the API server returned status ${known}${detail}`, { status: known })
}

function removeControls(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
