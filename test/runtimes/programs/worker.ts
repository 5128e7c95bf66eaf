import { makeApp } from './app.ts'

export default makeApp()
