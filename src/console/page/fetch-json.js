import { element } from './elements.js'

/**
 * Fetches data of the console. Rejects with the message of the gateway.
 * @param {string} resource
 * @param {Readonly<Record<string, string>>} parameters
 * @param {RequestInit} [options]
 */
export async function fetchJson(resource, parameters, options) {
  const response = await fetch(`console/${resource}?${String(new URLSearchParams(parameters))}`, options)
  const body = await response.json()
  if (!response.ok) throw new Error(body.error ?? `the gateway returned status ${response.status}`)
  return body
}

/**
 * Shows what `create` resolves with in `container`, or why it rejects.
 * @param {Element} container
 * @param {() => Promise<readonly Node[]>} create
 */
export async function showOrExplain(container, create) {
  try {
    container.replaceChildren(...(await create()))
  } catch (error) {
    container.replaceChildren(element('p', { class: 'bad' }, errorText(error)))
  }
}

/** @param {unknown} error */
export function errorText(error) {
  return error instanceof Error ? error.message : String(error)
}
