import { z } from 'zod'
import { KubernetesError } from './kubernetes-error.ts'

const text = z.string().min(1)

const kubernetesObjectSchema = z.looseObject({
  apiVersion: text,
  kind: text,
  metadata: z.looseObject({
    name: text,
    namespace: text,
    uid: text,
    generation: z.int().nonnegative(),
    resourceVersion: text,
    /** Set while finalizers delay the deletion. */
    deletionTimestamp: text.exactOptional(),
    labels: z.record(z.string(), z.string()).exactOptional(),
    annotations: z.record(z.string(), z.string()).exactOptional(),
  }),
})

/** A namespaced custom resource as the API server returns it. */
export type KubernetesObject = DeepReadonly<z.output<typeof kubernetesObjectSchema>>

type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value

/** Throws KubernetesError unless the value has the metadata of a stored, namespaced object. */
export function parseKubernetesObject(value: unknown): KubernetesObject {
  const parsed = kubernetesObjectSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new KubernetesError(
    'Malformed',
    `the API server sent an object that is malformed at "${issue?.path.join('.')}": ${issue?.message}`,
  )
}

/** Throws KubernetesError. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new KubernetesError('Malformed', 'the API server sent invalid JSON', { cause })
  }
}
