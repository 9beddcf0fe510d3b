import { z } from 'zod'

const apiVersion = 'admission.k8s.io/v1'
const kind = 'AdmissionReview'

const reviewSchema = z.looseObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal(kind),
  request: z.looseObject({
    uid: z.string().min(1),
    namespace: z.string().default(''),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    object: z.unknown(),
  }),
})

/** The question of an API server whether an object is admitted. */
export interface AdmissionRequest {
  /** Identifies the request, not the object. */
  readonly uid: string
  /** Empty for an object without a namespace. */
  readonly namespace: string
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** The object as it would be stored; null if it is deleted. */
  readonly object: unknown
}

export interface AdmissionResult {
  /** Why the object is refused; undefined if it is admitted. */
  readonly refusal: string | undefined
  /** Shown to the client in either case. */
  readonly warnings: readonly string[]
}

/** Returns undefined for anything but an AdmissionReview of `admission.k8s.io/v1`. */
export function parseAdmissionReview(value: unknown): AdmissionRequest | undefined {
  return reviewSchema.safeParse(value).data?.request
}

/** Creates the review with the response to a request. */
export function createAdmissionReview(
  { uid }: Pick<AdmissionRequest, 'uid'>,
  { refusal, warnings }: AdmissionResult,
): unknown {
  return {
    apiVersion,
    kind,
    response: {
      uid,
      allowed: refusal === undefined,
      ...(refusal !== undefined && { status: { code: 422, reason: 'Invalid', message: refusal } }),
      ...(warnings.length > 0 && { warnings }),
    },
  }
}
