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
