import './indented-code.css'

/** The default theme with the fonts of the reader's system: no font is loaded. */
export { default } from 'vitepress/theme-without-fonts'
