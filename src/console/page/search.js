import { byId, byIdAndType, element, show, showItems } from './elements.js'

const field = byIdAndType('search-text', HTMLInputElement)

/**
 * Calls `changed` whenever the search finds other entries.
 * @param {() => void} changed
 */
export function openSearch(changed) {
  byId('search').addEventListener('submit', (event) => event.preventDefault())
  field.addEventListener('input', changed)
}

/**
 * Shows the items that the search finds, newest first, or else that there are none.
 * @template Item
 * @param {string} id
 * @param {readonly Item[]} items
 * @param {{ readonly texts: (item: Item) => readonly (string | undefined)[], readonly key: (item: Item) => string, readonly view: (item: Item) => Element, readonly notFound: string, readonly empty: () => Node }} list
 */
export function showFeed(id, items, { texts, key, view, notFound, empty }) {
  const feed = byId(id)
  const words = searchedWords()
  const found = items.filter((item) => {
    const text = texts(item).join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  if (found.length > 0) showItems(feed, found, key, view)
  else
    show(feed, words.length > 0, (isSearching) => [
      element('li', { class: 'quiet' }, isSearching ? notFound : empty()),
    ])
}

function searchedWords() {
  return field.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
