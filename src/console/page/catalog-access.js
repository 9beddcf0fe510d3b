import { byId, byIdAndType } from './elements.js'
import { fetchJson } from './fetch-json.js'

const keyField = byIdAndType('catalog-key', HTMLInputElement)
const headerField = byIdAndType('catalog-header', HTMLSelectElement)

/**
 * Headers that the listings are requested with, in memory only; undefined until the viewer asks for the catalog.
 * @type {Readonly<Record<string, string>> | undefined}
 */
let credential

/**
 * Calls `changed` when the viewer asks for the catalog.
 * @param {() => Promise<void>} changed
 */
export function openCatalogAccess(changed) {
  byId('catalog-form').addEventListener('submit', (event) => {
    event.preventDefault()
    const text = keyField.value.trim()
    const value = headerField.value === 'authorization' ? `Bearer ${text}` : text
    credential = text === '' ? {} : { [headerField.value]: value }
    keyField.value = ''
    void changed()
  })
  if (globalThis.isSecureContext) return
  // What is typed would be sent in the clear.
  keyField.disabled = true
  keyField.placeholder = 'needs HTTPS or localhost'
}

export function hasCatalog() {
  return credential !== undefined
}

/**
 * Lists a page of the namespaces in a namespace that the credential may see. Rejects with the message of the gateway.
 * @param {string} id
 * @param {string | undefined} pageToken
 * @returns {Promise<{ readonly namespaces: readonly string[], readonly page_token?: string }>}
 */
export function listCatalog(id, pageToken) {
  const parameters = pageToken === undefined ? { id } : { id, page_token: pageToken }
  return fetchJson('catalog', parameters, { headers: { ...credential } })
}
