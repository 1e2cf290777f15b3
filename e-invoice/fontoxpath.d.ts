/** The entry point of fontoxpath as an ES module: Node cannot tell the names that its CommonJS file exports. */
declare module "fontoxpath/dist/fontoxpath.esm.js" {
  export * from "fontoxpath";
}
