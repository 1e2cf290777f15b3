/** The ES module of fontoxpath: Node cannot detect the names that its CommonJS file exports. */
declare module "fontoxpath/dist/fontoxpath.esm.js" {
  export * from "fontoxpath";
}
