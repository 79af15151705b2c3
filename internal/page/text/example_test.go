package text_test

import (
	"fmt"

	"forager/internal/page/text"
)

func ExampleTokens() {
	fmt.Printf("%q\n", text.Tokens(nil, "Node.js, C++ and 3.14: naïve e-mail"))
	// Output: ["node.js" "c" "and" "3.14" "naïve" "e" "mail"]
}

func ExampleWords() {
	words := text.NewWords(text.Settings{StopWords: true, Stem: true, Language: "en"})
	words.Text("The clubs are cycling and we cycled with the club.", "")
	for words.Next() {
		fmt.Printf("%s ", words.Word())
	}
	fmt.Println()
	// Output: club cycl cycl club
}
