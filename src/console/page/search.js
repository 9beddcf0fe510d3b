import { byId, byIdAndType } from './elements.js'

const field = byIdAndType('search-text', HTMLInputElement)

/**
 * Calls `changed` whenever the search finds other entries.
 * @param {() => void} changed
 */
export function openSearch(changed) {
  byId('search').addEventListener('submit', (event) => event.preventDefault())
  field.addEventListener('input', changed)
}

/** Whether the search restricts what is shown. */
export function isSearching() {
  return searchedWords().length > 0
}

/**
 * Whether an entry contains every word of the search, in any letter case.
 * @param {readonly (string | undefined)[]} texts
 */
export function isFound(texts) {
  const text = texts.join('\n').toLowerCase()
  return searchedWords().every((word) => text.includes(word))
}

/**
 * Searches for a text, or for nothing if it is already searched for.
 * @param {string} text
 */
export function toggleSearch(text) {
  field.value = isSearchedFor(text) ? '' : text
  field.dispatchEvent(new Event('input'))
}

/** @param {string} text */
export function isSearchedFor(text) {
  return field.value === text
}

function searchedWords() {
  return field.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
