import { KubernetesError } from './kubernetes-error.ts'

/** Throws KubernetesError. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new KubernetesError('Malformed', 'the API server sent invalid JSON', { cause })
  }
}
